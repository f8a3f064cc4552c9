import { EVERYTHING, Failed, type Filter, Page, PRODUCT_ID, sentence } from "common";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { fetchQuery, graphql, useLazyLoadQuery, useRelayEnvironment } from "react-relay";
import type { FetchQueryFetchPolicy } from "relay-runtime";
import type { StorefrontQuery } from "./__generated__/StorefrontQuery.graphql";
import { Comments } from "./Comments";
import { Statistics } from "./Statistics";

const query = graphql`
  query StorefrontQuery(
    $productId: ID!
    $rating: [Int!]
    $language: [String!]
    $orderBy: CommentOrder
  ) {
    viewer {
      username
      name
    }
    product(productId: $productId) {
      title
      pictureUrl
      ...Statistics_product @arguments(rating: $rating, language: $language)
      ...Comments_product @arguments(rating: $rating, language: $language, orderBy: $orderBy)
    }
  }
`;

/** The page of a product. Shows the list of an earlier filter until the selected list is loaded. */
export function Storefront() {
  const [filter, setFilter] = useState(EVERYTHING);
  const { loaded, error, load, reload } = useFirstPage(filter);
  const failed = error && <Failed message={error} onRetry={load} />;
  if (loaded === null) {
    return (
      <Page client="Relay" viewer={null}>
        {failed || <p role="status">Loading …</p>}
      </Page>
    );
  }
  return (
    <Product
      filter={filter}
      loaded={loaded}
      failed={failed}
      onFilter={setFilter}
      onReload={reload}
    />
  );
}

/** A product with its counts, and the filtered list of its comments. */
function Product(props: {
  filter: Filter;
  loaded: Filter;
  failed: ReactNode;
  onFilter: (filter: Filter) => void;
  onReload: () => void;
}) {
  const { filter, loaded } = props;
  // `useFirstPage` has put the response into Relay's store.
  const variables = { productId: PRODUCT_ID, ...loaded };
  const { viewer, product } = useLazyLoadQuery<StorefrontQuery>(query, variables, {
    fetchPolicy: "store-only",
  });
  if (!product) return null;
  return (
    <Page client="Relay" viewer={viewer ?? null} product={product}>
      <Statistics product={product} filter={filter} onFilter={props.onFilter} />
      {props.failed}
      <Comments
        product={product}
        filter={loaded}
        viewer={viewer ?? null}
        isPending={filter !== loaded}
        onReload={props.onReload}
      />
    </Page>
  );
}

/**
 * Put the first page of a list into Relay's store. Return the filter whose list was loaded last.
 *
 * If `useLazyLoadQuery` sent the request and the request failed, `useLazyLoadQuery` would throw, and
 * the page would lose the comments that it shows.
 */
function useFirstPage(filter: Filter) {
  const environment = useRelayEnvironment();
  const [loaded, setLoaded] = useState<Filter | null>(null);
  const [error, setError] = useState<string>();
  const selected = useRef(filter);
  selected.current = filter;

  const request = useCallback(
    (fetchPolicy: FetchQueryFetchPolicy) => {
      const variables = { productId: PRODUCT_ID, ...filter };
      // Ignore the response if the user has selected another filter meanwhile.
      const isWanted = () => selected.current === filter;
      setError(undefined);
      fetchQuery<StorefrontQuery>(environment, query, variables, { fetchPolicy }).subscribe({
        complete: () => isWanted() && setLoaded(filter),
        error: (reason: unknown) => isWanted() && setError(sentence(reason)),
      });
    },
    [environment, filter],
  );

  // When the user returns to an earlier list, the store still has the list, and no request is
  // needed. The subscription then delivers the events that happened meanwhile.
  const load = useCallback(() => request("store-or-network"), [request]);
  const reload = useCallback(() => request("network-only"), [request]);
  useEffect(load, [load]);
  return { loaded, error, load, reload };
}
