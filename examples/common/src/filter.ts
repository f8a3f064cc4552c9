/** Filters and order of a list. A null filter matches all comments, an empty array would match none. */
export type Filter = {
  rating: number[] | null;
  language: string[] | null;
  orderBy: "NEWEST" | "OLDEST";
};

export const EVERYTHING: Filter = { rating: null, language: null, orderBy: "NEWEST" };

/** Return the selected values after a click on `value`, which selects or deselects this value. */
export function toggled<T>(chosen: T[] | null, value: T): T[] | null {
  const others = (chosen ?? []).filter((one) => one !== value);
  if (others.length === (chosen ?? []).length) return [...others, value];
  return others.length > 0 ? others : null;
}

/** Return whether a comment matches a filter. The language `en` also finds `en-US`. */
export function passes(filter: Filter, comment: { rating: number; language: string }): boolean {
  return (
    (filter.rating?.includes(comment.rating) ?? true) &&
    (filter.language?.some((one) => `${comment.language}-`.startsWith(`${one}-`)) ?? true)
  );
}

/** Return the index at which to insert a comment into a list that is sorted by date. */
export function placeOf(createdAt: string, others: readonly string[], { orderBy }: Filter): number {
  const time = Date.parse(createdAt);
  const behind = others.findIndex((other) =>
    orderBy === "NEWEST" ? Date.parse(other) <= time : Date.parse(other) >= time,
  );
  return behind === -1 ? others.length : behind;
}
