import { useQuery } from "@apollo/client/react";
import { EVERYTHING, Failed, Filters, Page, PRODUCT_ID, Summary, useLast } from "common";
import { useCallback, useState } from "react";
import { reason } from "./client";
import { Comments } from "./Comments";
import { COMMENTS, PRODUCT } from "./documents";

/** A product with its counts, and the filtered list of its comments. */
export function App() {
  const [filter, setFilter] = useState(EVERYTHING);
  const { data, error, fetchMore, refetch } = useQuery(PRODUCT, {
    variables: { productId: PRODUCT_ID, ...filter },
    errorPolicy: "all", // keep the other fields if one fails
    fetchPolicy: "cache-and-network",
    nextFetchPolicy: "cache-first",
  });
  // Until the selected list is loaded, and if it cannot be loaded, show the list before it.
  const product = useLast(data?.product);
  const statistics = useLast(product?.statistics);
  const list = useLast(product?.comments);
  const viewer = useLast(data?.viewer) ?? null;

  const endCursor = list?.pageInfo.endCursor;
  const loadMore = useCallback(() => {
    const variables = { productId: PRODUCT_ID, ...filter, after: endCursor, first: 50 };
    return fetchMore({ query: COMMENTS, variables }).then(() => undefined, reason);
  }, [endCursor, fetchMore, filter]);
  // `useQuery` returns the error of a failed `refetch`, too.
  const reload = useCallback(() => void refetch().catch(() => {}), [refetch]);

  return (
    <Page client="Apollo" viewer={viewer} product={product}>
      {statistics?.facets && (
        <>
          <Summary {...statistics} />
          <Filters counts={statistics.facets} filter={filter} onChange={setFilter} />
        </>
      )}
      {error && <Failed message={reason(error)} onRetry={reload} />}
      <Comments
        filter={filter}
        viewer={viewer}
        list={list}
        isLoaded={data?.product?.comments != null}
        onMore={loadMore}
        onReload={reload}
      />
    </Page>
  );
}
