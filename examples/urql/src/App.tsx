import { EVERYTHING, Filters, Page, PRODUCT_ID, Summary } from "common";
import { useState } from "react";
import { useQuery } from "urql";
import { reason } from "./client";
import { Comments } from "./Comments";
import { STATISTICS, VIEWER } from "./documents";

/** A product with its counts, and its comments as the reader has filtered them. */
export function App({ onReload }: { onReload: () => void }) {
  const [filter, setFilter] = useState(EVERYTHING);
  const [viewer] = useQuery({ query: VIEWER });
  const [{ data, error }] = useQuery({ query: STATISTICS, variables: { productId: PRODUCT_ID } });
  const statistics = data?.product?.statistics;
  const username = viewer.data?.viewer?.username ?? null;
  return (
    <Page client="urql" username={username} error={error && reason(error)}>
      {statistics && (
        <>
          <Summary {...statistics} />
          <Filters counts={statistics} filter={filter} onChange={setFilter} />
          <Comments filter={filter} username={username} onReload={onReload} />
        </>
      )}
    </Page>
  );
}
