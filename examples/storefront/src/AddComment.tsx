import { CommentForm, type Draft, type Fault, type Filter, passes, PRODUCT_ID, sentence } from "common";
import { graphql, useMutation } from "react-relay";
import type {
  AddCommentMutation,
  AddCommentMutation$rawResponse,
} from "./__generated__/AddCommentMutation.graphql";

/** The form for a comment, which stands in the list before the server has answered. */
export function AddComment(props: { connection: string; filter: Filter; username: string | null }) {
  const { connection, filter, username } = props;
  const [commitAdd] = useMutation<AddCommentMutation>(graphql`
    mutation AddCommentMutation($input: AddCommentInput!, $connections: [ID!]!)
    @raw_response_type {
      addComment(input: $input) {
        commentEdge @prependEdge(connections: $connections) {
          cursor
          node {
            id
            ...CommentItem_comment
          }
        }
        comment {
          product {
            ...Statistics_product
          }
        }
        userErrors {
          field
          message
        }
      }
    }
  `);

  function send(draft: Draft): Promise<readonly Fault[]> {
    // With the oldest first, it belongs behind what has been loaded: the live list puts it there.
    const isShown = filter.orderBy === "NEWEST" && passes(filter, draft);
    return new Promise((resolve) =>
      commitAdd({
        variables: {
          input: { productId: PRODUCT_ID, ...draft },
          connections: isShown ? [connection] : [],
        },
        onCompleted: ({ addComment }) => resolve(addComment?.userErrors ?? []),
        onError: (error) => resolve([{ message: sentence(error) }]),
        ...(username !== null && { optimisticResponse: expected(draft, username) }),
      }),
    );
  }

  return <CommentForm onSend={send} />;
}

/** Return what the server will say, as far as it can be known. */
function expected(draft: Draft, username: string): AddCommentMutation$rawResponse {
  const { idempotencyKey, ...written } = draft;
  return {
    addComment: {
      commentEdge: {
        cursor: "",
        node: {
          ...written,
          id: `new:${idempotencyKey}`,
          createdAt: new Date().toISOString(),
          verifiedPurchase: false,
          author: { username },
        },
      },
      comment: null,
      userErrors: [],
    },
  };
}
