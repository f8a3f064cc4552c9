import { Faults, type Filter, Filters, Summary } from "common";
import { graphql, useFragment } from "react-relay";
import type { Statistics_product$key } from "./__generated__/Statistics_product.graphql";

/** The number of comments of each rating and language, next to the filters. */
export function Statistics(props: {
  product: Statistics_product$key;
  filter: Filter;
  onFilter: (filter: Filter) => void;
}) {
  const { statistics } = useFragment(
    graphql`
      fragment Statistics_product on Product
      @argumentDefinitions(rating: { type: "[Int!]" }, language: { type: "[String!]" }) {
        statistics @catch {
          total
          average
          facets(rating: $rating, language: $language) {
            ratings {
              rating
              count
            }
            languages {
              language
              count
            }
          }
        }
      }
    `,
    props.product,
  );
  // If the counts fail, the page still shows the comments.
  if (!statistics.ok) return <Faults faults={[{ message: "The counts are not available now." }]} />;
  if (!statistics.value?.facets) return null;
  return (
    <>
      <Summary {...statistics.value} />
      <Filters counts={statistics.value.facets} filter={props.filter} onChange={props.onFilter} />
    </>
  );
}
