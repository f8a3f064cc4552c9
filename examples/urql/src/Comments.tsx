import {
  CommentCard,
  CommentForm,
  type Draft,
  EndOfList,
  type Fault,
  Faults,
  type Filter,
  PRODUCT_ID,
  type Viewer,
} from "common";
import { useFirstCursor } from "common/live";
import { useCallback, useEffect, useState } from "react";
import { useMutation, useQuery, useSubscription } from "urql";
import { reason } from "./client";
import { ADD, COMMENTS, DELETE, EVENTS } from "./documents";

/** The form for a comment, and the list, which loads more comments while the user scrolls. */
export function Comments(props: {
  filter: Filter;
  viewer: Viewer | null;
  onReload: () => void;
}) {
  const { filter, viewer, onReload } = props;
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [page, setPage] = useState<{ filter: Filter; after: string | null }>({ filter, after: null });
  const after = page.filter === filter ? page.after : null;
  // The cache returns all loaded pages of the list, whichever page is requested.
  const [{ data, error, fetching, stale }] = useQuery({
    query: COMMENTS,
    variables: { productId: PRODUCT_ID, ...filter, first: after === null ? 20 : 50, after },
    requestPolicy: after === null ? "cache-and-network" : "cache-first",
  });
  const list = data?.product?.comments;
  const endCursor = list?.pageInfo.endCursor ?? null;
  const loadMore = useCallback(() => setPage({ filter, after: endCursor }), [filter, endCursor]);

  // cache.ts updates the lists after each event.
  const { rating, language } = filter;
  const since = useFirstCursor(filter, list?.eventCursor);
  const [{ data: received }] = useSubscription({
    query: EVENTS,
    variables: { productId: PRODUCT_ID, rating, language, after: since },
    pause: since === null,
  });
  useEffect(() => {
    if (received?.commentEvents?.kind === "RELOAD") onReload(); // earlier events may be missing
  }, [received]);

  const [, add] = useMutation(ADD);
  const [, remove] = useMutation(DELETE);

  async function send(draft: Draft): Promise<readonly Fault[]> {
    const { data, error } = await add({ input: { productId: PRODUCT_ID, ...draft }, rating, language });
    return error ? [{ message: reason(error) }] : (data?.addComment?.userErrors ?? []);
  }

  async function removeComment(id: string) {
    const { data, error } = await remove({ input: { id }, rating, language });
    setFaults(error ? [{ message: reason(error) }] : (data?.deleteComment?.userErrors ?? []));
  }

  return (
    <>
      <CommentForm onSend={send} />
      <Faults faults={error ? [{ message: reason(error) }] : faults} />
      <ol className="comments" aria-busy={!list}>
        {list?.edges.map(({ node }) => (
          <li key={node.id}>
            <CommentCard
              comment={node}
              {...(node.username === viewer?.username &&
                !node.id.startsWith("new:") && { onDelete: () => void removeComment(node.id) })}
            />
          </li>
        ))}
      </ol>
      <EndOfList
        hasMore={list?.pageInfo.hasNextPage ?? true}
        isLoading={fetching || stale}
        onMore={loadMore}
      />
    </>
  );
}
