import { type Filter, Filters, Summary } from "common";
import { graphql, useFragment } from "react-relay";
import type { Statistics_product$key } from "./__generated__/Statistics_product.graphql";

/** How many comments there are of each rating and language, to filter by. */
export function Statistics(props: {
  product: Statistics_product$key;
  filter: Filter;
  onFilter: (filter: Filter) => void;
}) {
  const { statistics } = useFragment(
    graphql`
      fragment Statistics_product on Product {
        statistics {
          total
          average
          histogram {
            rating
            count
          }
          languages {
            language
            count
          }
        }
      }
    `,
    props.product,
  );
  if (!statistics) return null;
  return (
    <>
      <Summary {...statistics} />
      <Filters counts={statistics} filter={props.filter} onChange={props.onFilter} />
    </>
  );
}
