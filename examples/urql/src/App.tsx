import { EVERYTHING, Filters, Page, PRODUCT_ID, Summary } from "common";
import { useState } from "react";
import { useQuery } from "urql";
import { reason } from "./client";
import { Comments } from "./Comments";
import { STATISTICS, VIEWER } from "./documents";

/** A product with its counts, and the filtered list of its comments. */
export function App({ onReload }: { onReload: () => void }) {
  const [filter, setFilter] = useState(EVERYTHING);
  const [{ data: session }] = useQuery({ query: VIEWER });
  const { rating, language } = filter;
  const variables = { productId: PRODUCT_ID, rating, language };
  const [{ data, error }] = useQuery({ query: STATISTICS, variables });
  const product = data?.product;
  const statistics = product?.statistics;
  const viewer = session?.viewer ?? null;
  return (
    <Page client="urql" viewer={viewer} product={product} error={error && reason(error)}>
      {statistics?.facets && (
        <>
          <Summary {...statistics} />
          <Filters counts={statistics.facets} filter={filter} onChange={setFilter} />
        </>
      )}
      <Comments filter={filter} viewer={viewer} onReload={onReload} />
    </Page>
  );
}
