import type { ApolloCache } from "@apollo/client";
import { useMutation, useQuery, useSubscription } from "@apollo/client/react";
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
import { useCallback, useState } from "react";
import { reason } from "./client";
import { ADD, COMMENTS, DELETE, EVENTS, STATISTICS } from "./documents";
import type { AddCommentMutation, EdgeFragment } from "./gql/graphql";

/** The form for a comment, and the list, which loads more comments while the user scrolls. */
export function Comments({ filter, viewer }: { filter: Filter; viewer: Viewer | null }) {
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const variables = { productId: PRODUCT_ID, ...filter };
  const { data, previousData, error, loading, fetchMore, refetch } = useQuery(COMMENTS, {
    variables,
    fetchPolicy: "cache-and-network",
    nextFetchPolicy: "cache-first",
  });
  const list = (data ?? previousData)?.product?.comments;
  const endCursor = list?.pageInfo.endCursor;
  const after = useFirstCursor(filter, data?.product?.comments?.eventCursor);
  const { rating, language } = filter;
  const loadMore = useCallback(
    () => void fetchMore({ variables: { after: endCursor, first: 50 } }),
    [fetchMore, endCursor],
  );

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
          return void refetch();
        case "ADDED":
          insert(client.cache, event.commentEdge);
          break;
        case "DELETED":
          evict(client.cache, event.deletedId);
      }
      void client.refetchQueries({ include: [STATISTICS] });
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
      <Faults faults={error ? [{ message: reason(error) }] : faults} />
      <ol className="comments" aria-busy={!data}>
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
        isLoading={loading}
        onMore={loadMore}
      />
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
