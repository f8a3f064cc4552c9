/** The API's address, and the JWT of this tab. */
import { useSyncExternalStore } from "react";

/** The API's address. The environment variable VITE_API selects another server. */
export const API: string = import.meta.env.VITE_API ?? "http://127.0.0.1:8000/graphql";

/** The id of the product that the page shows, from `?product=` in the page's URL. */
export const PRODUCT_ID = new URLSearchParams(location.search).get("product") ?? "1";

const KEY = "marginalia-jwt";
const listeners = new Set<() => void>();

/** The JWT, or null. Each tab has its own JWT, so that you can try two users side by side. */
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

/** The signed-in user: the user name, which owns comments, and the display name. */
export type Viewer = { username: string; name: string };

/** The user's credentials: headers of an HTTP request, or a WebSocket's connectionParams. */
export function authorization(): Record<string, string> {
  const token = jwt();
  return token ? { Authorization: `Bearer ${token}` } : {};
}
