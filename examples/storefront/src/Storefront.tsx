import { EVERYTHING, Page, PRODUCT_ID } from "common";
import { useDeferredValue, useState } from "react";
import { graphql, useLazyLoadQuery } from "react-relay";
import type { StorefrontQuery } from "./__generated__/StorefrontQuery.graphql";
import { Comments } from "./Comments";
import { Statistics } from "./Statistics";

/** A product with its counts, and the filtered list of its comments. */
export function Storefront() {
  const [filter, setFilter] = useState(EVERYTHING);
  const shown = useDeferredValue(filter); // show the old list until the new one is loaded
  const { viewer, product } = useLazyLoadQuery<StorefrontQuery>(
    graphql`
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
    `,
    { productId: PRODUCT_ID, ...shown },
    // When the user returns to an earlier list, the store still has it, and no request is needed.
    // The subscription then delivers the events that happened meanwhile.
    { fetchPolicy: "store-or-network" },
  );
  if (!product) return null;
  return (
    <Page client="Relay" viewer={viewer ?? null} product={product}>
      <Statistics product={product} filter={filter} onFilter={setFilter} />
      <Comments
        product={product}
        filter={shown}
        viewer={viewer ?? null}
        isPending={filter !== shown}
      />
    </Page>
  );
}
