import { CommentCard, type Fault, Faults, type Filter, sentence, type Viewer } from "common";
import { useState } from "react";
import { graphql, useFragment, useMutation } from "react-relay";
import type { CommentItem_comment$key } from "./__generated__/CommentItem_comment.graphql";
import type { CommentItemDeleteMutation } from "./__generated__/CommentItemDeleteMutation.graphql";

/** A comment. Its author may delete it. */
export function CommentItem(props: {
  comment: CommentItem_comment$key;
  connection: string;
  filter: Filter;
  viewer: Viewer | null;
}) {
  const { rating, language } = props.filter;
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const comment = useFragment(
    graphql`
      fragment CommentItem_comment on Comment {
        id
        title
        text
        rating
        language
        createdAt
        verifiedPurchase
        username
        authorName
      }
    `,
    props.comment,
  );
  const [commitDelete] = useMutation<CommentItemDeleteMutation>(graphql`
    mutation CommentItemDeleteMutation(
      $input: DeleteCommentInput!
      $rating: [Int!]
      $language: [String!]
      $connections: [ID!]!
    ) @raw_response_type {
      deleteComment(input: $input) {
        deletedId @deleteEdge(connections: $connections)
        product {
          ...Statistics_product @arguments(rating: $rating, language: $language)
        }
        userErrors {
          message
        }
      }
    }
  `);

  function remove() {
    commitDelete({
      variables: { input: { id: comment.id }, rating, language, connections: [props.connection] },
      optimisticResponse: {
        deleteComment: { deletedId: comment.id, product: null, userErrors: [] },
      },
      onCompleted: ({ deleteComment }, errors) =>
        setFaults(deleteComment?.userErrors ?? errors ?? []),
      onError: (error) => setFaults([{ message: sentence(error) }]),
    });
  }

  const isMine = comment.username === props.viewer?.username;
  const isSent = !comment.id.startsWith("new:");
  return (
    <>
      <CommentCard comment={comment} {...(isMine && isSent && { onDelete: remove })} />
      <Faults faults={faults} />
    </>
  );
}
