import {
  CommentForm,
  type Draft,
  type Fault,
  type Filter,
  passes,
  PRODUCT_ID,
  sentence,
  type Viewer,
} from "common";
import { graphql, useMutation } from "react-relay";
import type {
  AddCommentMutation,
  AddCommentMutation$rawResponse,
} from "./__generated__/AddCommentMutation.graphql";

/** The form for a comment. The list shows the comment before the server responds. */
export function AddComment(props: { connection: string; filter: Filter; viewer: Viewer | null }) {
  const { connection, filter, viewer } = props;
  const [commitAdd] = useMutation<AddCommentMutation>(graphql`
    mutation AddCommentMutation(
      $input: AddCommentInput!
      $rating: [Int!]
      $language: [String!]
      $connections: [ID!]!
    ) @raw_response_type {
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
            ...Statistics_product @arguments(rating: $rating, language: $language)
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
    // In the order OLDEST, a new comment is last, but @prependEdge would show it first. LiveComments
    // inserts it at the end when its event arrives, if the end of the list is loaded.
    const isShown = filter.orderBy === "NEWEST" && passes(filter, draft);
    return new Promise((resolve) =>
      commitAdd({
        variables: {
          input: { productId: PRODUCT_ID, ...draft },
          rating: filter.rating,
          language: filter.language,
          connections: isShown ? [connection] : [],
        },
        onCompleted: ({ addComment }, errors) => resolve(addComment?.userErrors ?? errors ?? []),
        onError: (error) => resolve([{ message: sentence(error) }]),
        ...(viewer && { optimisticResponse: expected(draft, viewer) }),
      }),
    );
  }

  return <CommentForm onSend={send} />;
}

/** Return the optimistic response, which the list shows until the server responds. */
function expected(draft: Draft, viewer: Viewer): AddCommentMutation$rawResponse {
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
          username: viewer.username,
          authorName: viewer.name,
        },
      },
      comment: null,
      userErrors: [],
    },
  };
}
