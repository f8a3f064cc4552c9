/** What a reader has chosen. Null filters nothing; an empty list would select nothing. */
export type Filter = {
  rating: number[] | null;
  language: string[] | null;
  orderBy: "NEWEST" | "OLDEST";
};

export const EVERYTHING: Filter = { rating: null, language: null, orderBy: "NEWEST" };

/** Return the choice with `value` put in, or taken out if it was there. */
export function toggled<T>(chosen: T[] | null, value: T): T[] | null {
  const others = (chosen ?? []).filter((one) => one !== value);
  if (others.length === (chosen ?? []).length) return [...others, value];
  return others.length > 0 ? others : null;
}

/** Tell whether a comment belongs in the list of a filter. */
export function passes(filter: Filter, comment: { rating: number; language: string }): boolean {
  return (
    (filter.rating?.includes(comment.rating) ?? true) &&
    (filter.language?.includes(comment.language) ?? true)
  );
}

/** Return where a comment belongs among others that are ordered by date: how many stand before it. */
export function placeOf(createdAt: string, others: readonly string[], { orderBy }: Filter): number {
  const time = Date.parse(createdAt);
  const behind = others.findIndex((other) =>
    orderBy === "NEWEST" ? Date.parse(other) <= time : Date.parse(other) >= time,
  );
  return behind === -1 ? others.length : behind;
}
