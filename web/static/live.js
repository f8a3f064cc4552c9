/* Says "3 new comments" on a product's page while it is shown. Without it, or without a connection,
   the page is what it is. A hidden tab lets go of its connection: a browser has six for a site. */

let stream = null;
let list = null;
let cursor = null;
let fresh = new Set();

/* Listens to the list that is shown now; after a swap it may be another one. */
export function listen() {
  if (list !== document.getElementById("news")) {
    list = document.getElementById("news");
    cursor = null;
    fresh = new Set();
  }
  stream?.close();
  stream = null;
  if (!list || document.hidden) return;
  stream = new EventSource(address());
  stream.addEventListener("next", (message) => {
    const event = JSON.parse(message.data).data?.commentEvents;
    if (event) take(event);
  });
}

/* The address of the list's events, from the last one on. */
function address() {
  const url = new URL(list.dataset.live, location.href);
  const variables = JSON.parse(url.searchParams.get("variables"));
  url.searchParams.set("variables", JSON.stringify({ ...variables, after: cursor }));
  return url;
}

function take(event) {
  cursor = event.cursor;
  if (event.kind === "ADDED") fresh.add(event.commentEdge.node.id);
  if (event.kind === "DELETED") fresh.delete(event.deletedId);
  if (event.kind === "RELOAD") say("There may be new comments");
  else if (fresh.size) say(fresh.size === 1 ? "1 new comment" : `${fresh.size} new comments`);
  else say("");
}

function say(text) {
  const link = list.querySelector("a");
  link.textContent = text;
  link.hidden = !text;
}

document.addEventListener("visibilitychange", listen);
addEventListener("pagehide", () => stream?.close());
addEventListener("pageshow", (event) => event.persisted && listen());
listen();
