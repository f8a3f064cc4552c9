import { EndOfList, type Filter, sentence, type Viewer } from "common";
import { useFirstCursor } from "common/live";
import { useCallback } from "react";
import { graphql, usePaginationFragment } from "react-relay";
import type { Comments_product$key } from "./__generated__/Comments_product.graphql";
import type { CommentsPaginationQuery } from "./__generated__/CommentsPaginationQuery.graphql";
import { AddComment } from "./AddComment";
import { CommentItem } from "./CommentItem";
import { useLiveComments } from "./LiveComments";

/** The form for a comment, and the list, which loads more comments while the user scrolls. */
export function Comments(props: {
  product: Comments_product$key;
  filter: Filter;
  viewer: Viewer | null;
  isPending: boolean;
  onReload: () => void;
}) {
  const { filter, viewer } = props;
  const { data, loadNext, hasNext } = usePaginationFragment<
    CommentsPaginationQuery,
    Comments_product$key
  >(
    graphql`
      fragment Comments_product on Product
      @refetchable(queryName: "CommentsPaginationQuery")
      @argumentDefinitions(
        count: { type: "Int", defaultValue: 20 }
        cursor: { type: "String" }
        rating: { type: "[Int!]" }
        language: { type: "[String!]" }
        orderBy: { type: "CommentOrder" }
      ) {
        comments(
          rating: $rating
          language: $language
          orderBy: $orderBy
          first: $count
          after: $cursor
        ) @connection(key: "Comments_comments") {
          __id
          eventCursor
          edges {
            node {
              id
              ...CommentItem_comment
            }
          }
        }
      }
    `,
    props.product,
  );
  const connection = data.comments?.__id ?? "";
  const loadMore = useCallback(
    () =>
      new Promise<string | undefined>((resolve) =>
        loadNext(50, { onComplete: (error) => resolve(error ? sentence(error) : undefined) }),
      ),
    [loadNext],
  );
  const after = useFirstCursor(filter, data.comments?.eventCursor);
  useLiveComments(connection, filter, after, props.onReload);

  if (!data.comments) return null;

  return (
    <>
      <AddComment connection={connection} filter={filter} viewer={viewer} />
      <ol className="comments" aria-busy={props.isPending}>
        {data.comments.edges.map(({ node }) => (
          <li key={node.id}>
            <CommentItem comment={node} connection={connection} filter={filter} viewer={viewer} />
          </li>
        ))}
      </ol>
      <EndOfList
        key={connection}
        isLoaded={!props.isPending}
        hasMore={hasNext}
        onMore={loadMore}
      />
    </>
  );
}
