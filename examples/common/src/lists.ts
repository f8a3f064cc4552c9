import { useRef } from "react";
import { type Filter, placeOf } from "./filter";

type Comment = { id: string; createdAt: string };
type List<E> = { edges: E[]; pageInfo: { hasNextPage: boolean } };

/**
 * Return the list with a new edge, inserted in date order.
 *
 * If the list has the comment already, or if the edge's place is after the loaded pages, the list
 * is unchanged.
 */
export function withEdge<E extends { node: Comment }, L extends List<E>>(
  list: L,
  edge: E,
  filter: Filter,
): L {
  if (list.edges.some(({ node }) => node.id === edge.node.id)) return list;
  const dates = list.edges.map(({ node }) => node.createdAt);
  const place = placeOf(edge.node.createdAt, dates, filter);
  if (place === list.edges.length && list.pageInfo.hasNextPage) return list;
  return { ...list, edges: list.edges.toSpliced(place, 0, edge) };
}

/** Return the value. If a failed request has no value, return the last value that was not null. */
export function useLast<T>(value: T | null | undefined): T | null | undefined {
  const last = useRef(value);
  if (value != null) last.current = value;
  return last.current;
}
