import { EVERYTHING, Failed, Filters, Page, PRODUCT_ID, Summary, useLast } from "common";
import { useCallback, useState } from "react";
import { useClient, useQuery } from "urql";
import { reason } from "./client";
import { Comments } from "./Comments";
import { COMMENTS, PRODUCT } from "./documents";

/** A product with its counts, and the filtered list of its comments. */
export function App({ onReload }: { onReload: () => void }) {
  const client = useClient();
  const [filter, setFilter] = useState(EVERYTHING);
  const [{ data, error, fetching, stale }, load] = useQuery({
    query: PRODUCT,
    variables: { productId: PRODUCT_ID, ...filter },
    requestPolicy: "cache-and-network",
  });
  // Until the selected list is loaded, and if it cannot be loaded, show the list before it.
  const product = useLast(data?.product);
  const statistics = useLast(product?.statistics);
  const list = useLast(product?.comments);
  const viewer = useLast(data?.viewer) ?? null;

  const endCursor = list?.pageInfo.endCursor ?? null;
  const loadMore = useCallback(async () => {
    // The cache appends the page to the list, and `useQuery` returns the longer list.
    const variables = { productId: PRODUCT_ID, ...filter, first: 50, after: endCursor };
    const { error } = await client.query(COMMENTS, variables).toPromise();
    return error && reason(error);
  }, [client, endCursor, filter]);

  return (
    <Page client="urql" viewer={viewer} product={product}>
      {statistics?.facets && (
        <>
          <Summary {...statistics} />
          <Filters counts={statistics.facets} filter={filter} onChange={setFilter} />
        </>
      )}
      {error && !fetching && <Failed message={reason(error)} onRetry={load} />}
      <Comments
        filter={filter}
        viewer={viewer}
        list={list}
        isLoaded={!fetching && !stale && data?.product?.comments != null}
        onMore={loadMore}
        onReload={onReload}
      />
    </Page>
  );
}
