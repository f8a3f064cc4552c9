/** The JWT of this tab, and where the API is. */
import { useSyncExternalStore } from "react";

/** Another server is named by VITE_API when the example is started or built. */
export const API: string = import.meta.env.VITE_API ?? "http://127.0.0.1:8000/graphql";

/** The product that the page shows: `?product=2`. */
export const PRODUCT_ID = new URLSearchParams(location.search).get("product") ?? "1";

const KEY = "marginalia-jwt";
const listeners = new Set<() => void>();

/** The JWT, or null. Each tab has its own, so that two people can be tried side by side. */
export function jwt(): string | null {
  return sessionStorage.getItem(KEY);
}

export function setJwt(value: string | null): void {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
  listeners.forEach((listener) => listener());
}

export function useJwt(): string | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, jwt);
}

/** The signed-in user: the id that owns comments, and the name to show. */
export type Viewer = { username: string; name: string };

/** What names the user to the API, by HTTP as headers and by WebSocket as connectionParams. */
export function authorization(): Record<string, string> {
  const token = jwt();
  return token ? { Authorization: `Bearer ${token}` } : {};
}
