import {
  type Cache,
  cacheExchange,
  type OptimisticMutationResolver,
  type UpdateResolver,
} from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { type Filter, passes, PRODUCT_ID, withEdge } from "common";
import { COMMENTS, type EVENTS, type ADD, type DELETE, VIEWER } from "./documents";
import type { ResultOf, VariablesOf } from "./graphql";

type Edge = NonNullable<NonNullable<ResultOf<typeof ADD>["addComment"]>["commentEdge"]>;

const embedded = () => null;

/** Return a normalised cache that knows what mutations and events do to lists. */
export function cache() {
  return cacheExchange({
    keys: {
      Author: embedded,
      CommentStatistics: embedded,
      LanguageCount: embedded,
      RatingCount: embedded,
    },
    resolvers: { Product: { comments: relayPagination() } },
    optimistic: { addComment: expectedAddition, deleteComment: expectedDeletion },
    updates: {
      Mutation: { addComment: added, deleteComment: deleted },
      Subscription: { commentEvents: told },
    },
  });
}

const added: UpdateResolver<ResultOf<typeof ADD>> = ({ addComment }, _args, cache) =>
  insert(cache, addComment?.commentEdge);

const deleted: UpdateResolver<ResultOf<typeof DELETE>> = ({ deleteComment }, _args, cache) =>
  remove(cache, deleteComment?.deletedId);

const told: UpdateResolver<ResultOf<typeof EVENTS>> = ({ commentEvents: event }, _args, cache) => {
  if (event?.kind === "ADDED") insert(cache, event.commentEdge);
  if (event?.kind === "DELETED") remove(cache, event.deletedId);
};

/** Put an edge in each list that it belongs to. */
function insert(cache: Cache, edge: Edge | null | undefined): void {
  if (!edge) return;
  for (const { variables, filter } of lists(cache)) {
    if (!passes(filter, edge.node)) continue;
    cache.updateQuery({ query: COMMENTS, variables }, (known) => {
      if (!known?.product?.comments) return known;
      const comments = withEdge(known.product.comments, edge, filter);
      return { ...known, product: { ...known.product, comments } };
    });
  }
}

/** Take a comment out of each list, and out of the cache. */
function remove(cache: Cache, id: string | null | undefined): void {
  if (!id) return;
  for (const { variables } of lists(cache)) {
    cache.updateQuery({ query: COMMENTS, variables }, (known) => {
      if (!known?.product?.comments) return known;
      const edges = known.product.comments.edges.filter(({ node }) => node.id !== id);
      const comments = { ...known.product.comments, edges };
      return { ...known, product: { ...known.product, comments } };
    });
  }
  cache.invalidate({ __typename: "Comment", id });
}

/** Return the lists of the product that have been read, each with its first page's variables. */
function lists(cache: Cache) {
  const product = cache.resolve("Query", "product", { productId: PRODUCT_ID });
  return cache
    .inspectFields(product as string)
    .filter(({ fieldName, arguments: args }) => fieldName === "comments" && !args?.after)
    .map(({ arguments: args }) => ({
      variables: { productId: PRODUCT_ID, ...args },
      filter: args as Filter,
    }));
}

const expectedAddition: OptimisticMutationResolver<VariablesOf<typeof ADD>, any> = (
  { input: { productId, idempotencyKey, ...written } },
  cache,
) => {
  const viewer = cache.readQuery({ query: VIEWER })?.viewer;
  const edge = viewer && {
    __typename: "CommentEdge",
    cursor: "",
    node: {
      __typename: "Comment",
      ...written,
      id: `new:${idempotencyKey}`,
      createdAt: new Date().toISOString(),
      verifiedPurchase: false,
      author: { __typename: "Author", username: viewer.username },
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
