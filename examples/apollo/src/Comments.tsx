import type { ApolloCache } from "@apollo/client";
import { useMutation, useSubscription } from "@apollo/client/react";
import {
  CommentCard,
  CommentForm,
  type Draft,
  EndOfList,
  type Fault,
  Faults,
  type Filter,
  passes,
  PRODUCT_ID,
  type Viewer,
  withEdge,
} from "common";
import { useFirstCursor } from "common/live";
import { useState } from "react";
import { reason } from "./client";
import { ADD, COMMENTS, DELETE, EVENTS, STATISTICS } from "./documents";
import type { AddCommentMutation, EdgeFragment, PageFragment } from "./gql/graphql";

/** The form for a comment, and the list, which loads more comments while the user scrolls. */
export function Comments(props: {
  filter: Filter;
  viewer: Viewer | null;
  list: PageFragment | null | undefined;
  isLoaded: boolean; // otherwise `list` belongs to an earlier filter
  onMore: () => Promise<string | undefined>;
  onReload: () => void;
}) {
  const { filter, viewer, list, isLoaded, onMore, onReload } = props;
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const variables = { productId: PRODUCT_ID, ...filter };
  const after = useFirstCursor(filter, isLoaded ? list?.eventCursor : null);
  const { rating, language } = filter;

  function insert(cache: ApolloCache, edge: EdgeFragment | null | undefined) {
    if (!edge || !passes(filter, edge.node)) return;
    cache.updateQuery({ query: COMMENTS, variables }, (known) => {
      if (!known?.product?.comments) return undefined;
      const comments = withEdge(known.product.comments, edge, filter);
      return { ...known, product: { ...known.product, comments } };
    });
  }

  const [add] = useMutation(ADD, {
    update: (cache, { data }) => insert(cache, data?.addComment?.commentEdge),
  });
  const [remove] = useMutation(DELETE, {
    update: (cache, { data }) => evict(cache, data?.deleteComment?.deletedId),
  });

  useSubscription(EVENTS, {
    variables: { productId: PRODUCT_ID, rating, language, after },
    skip: after === null,
    ignoreResults: true,
    onData({ client, data: { data } }) {
      const event = data?.commentEvents;
      switch (event?.kind) {
        case "RELOAD": // earlier events may be missing
          return onReload();
        case "ADDED":
          insert(client.cache, event.commentEdge);
          break;
        case "DELETED":
          evict(client.cache, event.deletedId);
      }
      const counts = { query: STATISTICS, variables: { productId: PRODUCT_ID, rating, language } };
      client.query({ ...counts, fetchPolicy: "network-only" }).catch(() => {}); // keep the old counts
    },
  });

  async function send(draft: Draft): Promise<readonly Fault[]> {
    try {
      const { data } = await add({
        variables: { input: { productId: PRODUCT_ID, ...draft }, rating, language },
        ...(viewer && { optimisticResponse: expected(draft, viewer) }),
      });
      return data?.addComment?.userErrors ?? [];
    } catch (error) {
      return [{ message: reason(error) }];
    }
  }

  async function removeComment(id: string) {
    try {
      const { data } = await remove({
        variables: { input: { id }, rating, language },
        optimisticResponse: {
          deleteComment: {
            __typename: "DeleteCommentPayload",
            deletedId: id,
            product: null,
            userErrors: [],
          },
        },
      });
      setFaults(data?.deleteComment?.userErrors ?? []);
    } catch (error) {
      setFaults([{ message: reason(error) }]);
    }
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

/** Remove a comment from the cache, and so from every list. */
function evict(cache: ApolloCache, id: string | null | undefined): void {
  if (!id) return;
  cache.evict({ id: cache.identify({ __typename: "Comment", id }) });
  cache.gc();
}

/** Return the optimistic response, which the list shows until the server responds. */
function expected(draft: Draft, viewer: Viewer): AddCommentMutation {
  const { idempotencyKey, ...written } = draft;
  return {
    addComment: {
      __typename: "AddCommentPayload",
      commentEdge: {
        __typename: "CommentEdge",
        cursor: "",
        node: {
          __typename: "Comment",
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
