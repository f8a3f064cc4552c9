/* Says "3 new comments" on a product's page while it is shown, and shows the shop's replies. Without it, or without a connection,
   the page is what it is. A hidden tab lets go of its connection: a browser has six for a site. */

let stream = null;
let list = null;
let cursor = null;
let fresh = new Map(); // the comment ids of new comments, by their global ids
let shown = 0;

/* Listens to the list that is shown now; after a swap it may be another one. */
export function listen() {
  if (list !== document.getElementById("news")) {
    list = document.getElementById("news");
    cursor = null;
    fresh = new Map();
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
  if (event.kind === "CHANGED") reply(event.commentEdge.node);
  if (event.kind === "ADDED") fresh.set(event.commentEdge.node.id, event.commentEdge.node.commentId);
  if (event.kind === "DELETED") fresh.delete(event.deletedId);
  if (event.kind === "RELOAD") say(list.dataset.some);
  else announce();
}

/* Says how many new comments the page does not show. It shows those that were written on it. */
export function announce() {
  const unseen = [...fresh.values()].filter((one) => !article(one)).length;
  say(unseen ? counted(JSON.parse(list.dataset.many), unseen) : "");
}

function article(commentId) {
  return [...document.querySelectorAll("article.comment")].find((one) => one.dataset.comment === commentId);
}

/* Puts the shop's present reply under a comment, if the page shows the comment. */
function reply(node) {
  const one = article(node.commentId);
  if (!one) return;
  one.querySelector(".reply")?.remove();
  if (!node.reply) return;
  const block = document.getElementById("reply").content.cloneNode(true);
  const written = block.querySelector("time");
  written.dateTime = node.reply.createdAt;
  written.textContent = day(node.reply.createdAt);
  block.querySelector(".text").textContent = node.reply.text;
  one.append(block);
}

/* A day as the page's language writes it; English is international, as the server's is. */
function day(instant) {
  const { lang } = document.documentElement;
  const locale = `${lang === "en" ? "en-001" : lang}-u-nu-latn-ca-gregory`;
  return new Date(instant).toLocaleDateString(locale, { dateStyle: "long", timeZone: "UTC" });
}

/* "3 new comments" in the page's language. `forms` has a text for each of its plural categories. */
export function counted(forms, count) {
  const { lang } = document.documentElement;
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
