import { useQuery } from "@apollo/client/react";
import { EVERYTHING, Filters, Page, PRODUCT_ID, Summary } from "common";
import { useState } from "react";
import { reason } from "./client";
import { Comments } from "./Comments";
import { STATISTICS, VIEWER } from "./documents";

/** A product with its counts, and its comments as the reader has filtered them. */
export function App() {
  const [filter, setFilter] = useState(EVERYTHING);
  const viewer = useQuery(VIEWER);
  const { data, error } = useQuery(STATISTICS, { variables: { productId: PRODUCT_ID } });
  const statistics = data?.product?.statistics;
  const username = viewer.data?.viewer?.username ?? null;
  return (
    <Page client="Apollo" username={username} error={error && reason(error)}>
      {statistics && (
        <>
          <Summary {...statistics} />
          <Filters counts={statistics} filter={filter} onChange={setFilter} />
          <Comments filter={filter} username={username} />
        </>
      )}
    </Page>
  );
}
