import { type Filter, toggled } from "./filter";

/**
 * Facets: next to each filter, the number of comments that it would show.
 *
 * The counts of ratings respect only the language filter. The counts of languages respect only the
 * rating filter.
 */
type Counts = {
  ratings: readonly { rating: number; count: number }[];
  languages: readonly { language: string; count: number }[];
};

/** Toggles for ratings and languages, and the order. */
export function Filters(props: {
  counts: Counts;
  filter: Filter;
  onChange: (filter: Filter) => void;
}) {
  const { counts, filter, onChange } = props;
  return (
    <div className="filters">
      <fieldset>
        <legend>Rating</legend>
        {counts.ratings.map(({ rating, count }) => (
          <Toggle
            key={rating}
            name={`${rating} ★`}
            count={count}
            chosen={filter.rating?.includes(rating) ?? false}
            onClick={() => onChange({ ...filter, rating: toggled(filter.rating, rating) })}
          />
        ))}
      </fieldset>
      <fieldset>
        <legend>Language</legend>
        {counts.languages.map(({ language, count }) => (
          <Toggle
            key={language}
            name={language}
            count={count}
            chosen={filter.language?.includes(language) ?? false}
            onClick={() => onChange({ ...filter, language: toggled(filter.language, language) })}
          />
        ))}
      </fieldset>
      <fieldset>
        <legend>Order</legend>
        <select
          aria-label="Order"
          value={filter.orderBy}
          onChange={(event) =>
            onChange({ ...filter, orderBy: event.target.value as Filter["orderBy"] })
          }
        >
          <option value="NEWEST">Newest first</option>
          <option value="OLDEST">Oldest first</option>
        </select>
      </fieldset>
    </div>
  );
}

function Toggle(props: { name: string; count: number; chosen: boolean; onClick: () => void }) {
  return (
    <button type="button" aria-pressed={props.chosen} onClick={props.onClick}>
      {props.name} <small>{props.count.toLocaleString("en")}</small>
    </button>
  );
}
