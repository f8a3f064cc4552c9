import { CommentCard, type Fault, Faults, sentence } from "common";
import { useState } from "react";
import { graphql, useFragment, useMutation } from "react-relay";
import type { CommentItem_comment$key } from "./__generated__/CommentItem_comment.graphql";
import type { CommentItemDeleteMutation } from "./__generated__/CommentItemDeleteMutation.graphql";

/** A comment, which its author may delete. */
export function CommentItem(props: {
  comment: CommentItem_comment$key;
  connection: string;
  username: string | null;
}) {
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
        author {
          username
        }
      }
    `,
    props.comment,
  );
  const [commitDelete] = useMutation<CommentItemDeleteMutation>(graphql`
    mutation CommentItemDeleteMutation($input: DeleteCommentInput!, $connections: [ID!]!)
    @raw_response_type {
      deleteComment(input: $input) {
        deletedId @deleteEdge(connections: $connections)
        product {
          ...Statistics_product
        }
        userErrors {
          message
        }
      }
    }
  `);

  function remove() {
    commitDelete({
      variables: { input: { id: comment.id }, connections: [props.connection] },
      optimisticResponse: {
        deleteComment: { deletedId: comment.id, product: null, userErrors: [] },
      },
      onCompleted: ({ deleteComment }) => setFaults(deleteComment?.userErrors ?? []),
      onError: (error) => setFaults([{ message: sentence(error) }]),
    });
  }

  const isMine = comment.author.username === props.username;
  const isSent = !comment.id.startsWith("new:");
  return (
    <>
      <CommentCard comment={comment} {...(isMine && isSent && { onDelete: remove })} />
      <Faults faults={faults} />
    </>
  );
}
