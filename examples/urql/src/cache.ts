import {
  type Cache,
  cacheExchange,
  type OptimisticMutationResolver,
  type UpdateResolver,
} from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { type Filter, passes, PRODUCT_ID, withEdge } from "common";
import { type ADD, COMMENTS, type DELETE, type EVENTS, type PAGE } from "./documents";
import type { ResultOf, VariablesOf } from "./graphql";

type List = ResultOf<typeof PAGE>;
type Edge = List["edges"][number];

const embedded = () => null;

/** Return a normalised cache that updates its lists after mutations and events. */
export function cache() {
  return cacheExchange({
    keys: {
      CommentFacets: embedded,
      CommentStatistics: embedded,
      LanguageFacet: embedded,
      RatingFacet: embedded,
    },
    resolvers: { Product: { comments: relayPagination() } },
    optimistic: { addComment: expectedAddition, deleteComment: expectedDeletion },
    updates: {
      Mutation: { addComment: added, deleteComment: deleted },
      Subscription: { commentEvents: changed },
    },
  });
}

const added: UpdateResolver<ResultOf<typeof ADD>> = ({ addComment }, _args, cache) =>
  insert(cache, addComment?.commentEdge);

const deleted: UpdateResolver<ResultOf<typeof DELETE>> = ({ deleteComment }, _args, cache) =>
  remove(cache, deleteComment?.deletedId);

const changed: UpdateResolver<ResultOf<typeof EVENTS>> = (
  { commentEvents: event },
  _args,
  cache,
) => {
  if (event?.kind === "ADDED") insert(cache, event.commentEdge);
  if (event?.kind === "DELETED") remove(cache, event.deletedId);
};

/** Insert an edge into each list whose filter it matches. */
function insert(cache: Cache, edge: Edge | null | undefined): void {
  if (!edge) return;
  update(cache, (list, filter) => {
    // Optimistic edges are in a separate layer of the cache. Do not copy them into the base layer.
    const edges = isSent(edge) ? list.edges.filter(isSent) : list.edges;
    return passes(filter, edge.node) ? withEdge({ ...list, edges }, edge, filter) : list;
  });
}

/** Remove a comment from each list, and from the cache. */
function remove(cache: Cache, id: string | null | undefined): void {
  if (!id) return;
  update(cache, (list) => ({ ...list, edges: list.edges.filter(({ node }) => node.id !== id) }));
  cache.invalidate({ __typename: "Comment", id });
}

function isSent({ node }: Edge): boolean {
  return !node.id.startsWith("new:");
}

/** Update each cached list of the product. The pages of a list are cached as one list. */
function update(cache: Cache, updated: (list: List, filter: Filter) => List): void {
  for (const { fieldName, arguments: args } of cache.inspectFields(product(cache))) {
    if (fieldName !== "comments" || args?.after) continue;
    const variables = { productId: PRODUCT_ID, ...args };
    cache.updateQuery({ query: COMMENTS, variables }, (known) => {
      if (!known?.product?.comments) return known;
      const comments = updated(known.product.comments, args as Filter);
      return { ...known, product: { ...known.product, comments } };
    });
  }
}

/** Return the cache key of the page's product. */
function product(cache: Cache): string {
  return cache.resolve("Query", "product", { productId: PRODUCT_ID }) as string;
}

const expectedAddition: OptimisticMutationResolver<VariablesOf<typeof ADD>, any> = (
  { input: { productId, idempotencyKey, ...written } },
  cache,
) => {
  const viewer = cache.resolve("Query", "viewer") as string | null;
  const edge = viewer && {
    __typename: "CommentEdge",
    cursor: "",
    node: {
      __typename: "Comment",
      ...written,
      id: `new:${idempotencyKey}`,
      createdAt: new Date().toISOString(),
      verifiedPurchase: false,
      username: cache.resolve(viewer, "username"),
      authorName: cache.resolve(viewer, "name"),
    },
  };
  return {
    __typename: "AddCommentPayload",
    commentEdge: edge ?? null,
    comment: null,
    userErrors: [],
  };
};

const expectedDeletion: OptimisticMutationResolver<VariablesOf<typeof DELETE>, any> = ({
  input,
}) => ({
  __typename: "DeleteCommentPayload",
  deletedId: input.id,
  product: null,
  userErrors: [],
});
