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
import { useEffect, useState } from "react";
import { useClient, useMutation, useSubscription } from "urql";
import { reason } from "./client";
import { ADD, DELETE, EVENTS, type PAGE, STATISTICS } from "./documents";
import type { ResultOf } from "./graphql";

/** The form for a comment, and the list, which loads more comments while the user scrolls. */
export function Comments(props: {
  filter: Filter;
  viewer: Viewer | null;
  list: ResultOf<typeof PAGE> | null | undefined;
  isLoaded: boolean; // otherwise `list` belongs to an earlier filter
  onMore: () => Promise<string | undefined>;
  onReload: () => void;
}) {
  const { filter, viewer, list, isLoaded, onMore, onReload } = props;
  const client = useClient();
  const [faults, setFaults] = useState<readonly Fault[]>([]);

  // cache.ts updates the lists after each event.
  const { rating, language } = filter;
  const since = useFirstCursor(filter, isLoaded ? list?.eventCursor : null);
  const [{ data: received }] = useSubscription({
    query: EVENTS,
    variables: { productId: PRODUCT_ID, rating, language, after: since },
    pause: since === null,
  });
  useEffect(() => {
    if (!received) return;
    if (received.commentEvents?.kind === "RELOAD") return onReload(); // earlier events may be missing
    const counts = { productId: PRODUCT_ID, rating, language };
    void client.query(STATISTICS, counts, { requestPolicy: "network-only" }).toPromise();
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
      <Faults faults={faults} />
      <ol className="comments" aria-busy={!isLoaded}>
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
      {list && (
        <EndOfList
          key={JSON.stringify(filter)}
          isLoaded={isLoaded}
          hasMore={list.pageInfo.hasNextPage}
          onMore={onMore}
        />
      )}
    </>
  );
}
