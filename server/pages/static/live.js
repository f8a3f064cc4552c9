/* Says "3 new comments" on a product's page while it is shown. Without it, or without a connection,
   the page is what it is. A hidden tab lets go of its connection: a browser has six for a site. */

let stream = null;
let list = null;
let cursor = null;
let fresh = new Set();
let shown = 0;

/* Listens to the list that is shown now; after a swap it may be another one. */
export function listen() {
  if (list !== document.getElementById("news")) {
    list = document.getElementById("news");
    cursor = null;
    fresh = new Set();
    shown = Date.now();
  }
  stream?.close();
  stream = null;
  if (!list?.dataset.live || document.hidden) return;
  stream = new EventSource(address());
  stream.addEventListener("next", (message) => {
    const event = JSON.parse(message.data).data?.commentEvents;
    if (event) take(event);
  });
}

/* The address of the list's events: from the page's event cursor on, or from the last event on. */
function address() {
  const url = new URL(list.dataset.live, location.href);
  const variables = JSON.parse(url.searchParams.get("variables"));
  if (cursor) variables.after = cursor;
  url.searchParams.set("variables", JSON.stringify(variables));
  return url;
}

function take(event) {
  /* Servers without Redis do not know each other's event cursors; the list was read just now. */
  const unknown = !cursor && event.kind === "RELOAD" && Date.now() - shown < 10_000;
  cursor = event.cursor;
  if (unknown) return;
  if (event.kind === "ADDED") fresh.add(event.commentEdge.node.id);
  if (event.kind === "DELETED") fresh.delete(event.deletedId);
  if (event.kind === "RELOAD") say(list.dataset.some);
  else if (fresh.size) say(counted(fresh.size));
  else say("");
}

/* "3 new comments" in the page's language, which gives a text for each of its plural categories. */
function counted(count) {
  const { lang } = document.documentElement;
  const forms = JSON.parse(list.dataset.many);
  const form = forms[new Intl.PluralRules(lang).select(count)] ?? forms.other;
  return form.replace("%(count)s", number(count));
}

/* A number as the page's language writes it; digits are European throughout, as the server's are. */
export function number(value) {
  return value.toLocaleString(`${document.documentElement.lang}-u-nu-latn`);
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
