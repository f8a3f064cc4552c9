import { useQuery } from "@apollo/client/react";
import { EVERYTHING, Filters, Page, PRODUCT_ID, Summary } from "common";
import { useState } from "react";
import { reason } from "./client";
import { Comments } from "./Comments";
import { STATISTICS, VIEWER } from "./documents";

/** A product with its counts, and the filtered list of its comments. */
export function App() {
  const [filter, setFilter] = useState(EVERYTHING);
  const { data: session } = useQuery(VIEWER);
  const { rating, language } = filter;
  const { data, previousData, error } = useQuery(STATISTICS, {
    variables: { productId: PRODUCT_ID, rating, language },
    errorPolicy: "all", // keep the other fields if one fails
  });
  const product = (data ?? previousData)?.product;
  const statistics = product?.statistics;
  const viewer = session?.viewer ?? null;
  return (
    <Page client="Apollo" viewer={viewer} product={product} error={error && reason(error)}>
      {statistics?.facets && (
        <>
          <Summary {...statistics} />
          <Filters counts={statistics.facets} filter={filter} onChange={setFilter} />
        </>
      )}
      <Comments filter={filter} viewer={viewer} />
    </Page>
  );
}
