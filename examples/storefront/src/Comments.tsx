import { EndOfList, Faults, type Filter, type Viewer } from "common";
import { useFirstCursor } from "common/live";
import { useCallback, useTransition } from "react";
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
}) {
  const { filter, viewer } = props;
  const [isReloading, startTransition] = useTransition();
  const { data, loadNext, hasNext, isLoadingNext, refetch } = usePaginationFragment<
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
  const loadMore = useCallback(() => void loadNext(50), [loadNext]);
  const reload = useCallback(
    () => startTransition(() => void refetch({}, { fetchPolicy: "network-only" })),
    [refetch],
  );
  const after = useFirstCursor(filter, data.comments?.eventCursor);
  useLiveComments(connection, filter, after, reload);

  if (!data.comments) {
    return <Faults faults={[{ message: "The comments are not available now: reload the page." }]} />;
  }

  return (
    <>
      <AddComment connection={connection} filter={filter} viewer={viewer} />
      <ol className="comments" aria-busy={props.isPending || isReloading}>
        {data.comments.edges.map(({ node }) => (
          <li key={node.id}>
            <CommentItem comment={node} connection={connection} filter={filter} viewer={viewer} />
          </li>
        ))}
      </ol>
      <EndOfList hasMore={hasNext} isLoading={isLoadingNext} onMore={loadMore} />
    </>
  );
}
