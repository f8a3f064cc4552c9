/* Fetches pages as HTML, in the language of the current page. */

export async function fetched(address, options) {
  const answer = await fetch(inLanguage(address), { headers: { Accept: "text/html" }, ...options });
  return { answer, parsed: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

/* Returns the address. If the browser accepts no cookies, adds the language that the visitor has chosen. */
export function inLanguage(address) {
  const tag = new URLSearchParams(location.search).get("lang");
  if (!tag || navigator.cookieEnabled) return address;
  const url = new URL(address, location.href);
  url.searchParams.set("lang", tag);
  return url.href;
}
