/* Subscribes to the changes of a product's list. Shows "3 new comments" above the list, and the shop's
   new replies. A hidden tab closes its connection, because browsers limit a site to six connections. */

let stream = null;
let list = null;
let cursor = null;
let fresh = new Map(); // the commentId of each new comment, by its global id
let shown = 0;
let lost = 0; // the connections that ended since the last event
let timer = null;

const ATTEMPTS = 6;

/* Subscribes to the list on the page. page.js calls this function again when it has replaced the list. */
export function listen() {
  if (list !== document.getElementById("news")) {
    list = document.getElementById("news");
    cursor = null;
    fresh = new Map();
    shown = Date.now();
  }
  clearTimeout(timer);
  stream?.close();
  stream = null;
  if (!list?.dataset.live || document.hidden) return;
  stream = new EventSource(address());
  stream.addEventListener("error", again);
  stream.addEventListener("next", (message) => {
    lost = 0;
    const event = JSON.parse(message.data).data?.commentEvents;
    if (event) take(event);
  });
}

/* Connects again after 1, 2, 4, 8, 16 and 32 seconds. Then the page says that there may be new comments, and
   does not connect until the visitor returns to the tab or uses the list. A random part of each pause prevents that
   all pages connect to a restarted server at once. */
function again() {
  stream.close();
  if (lost >= ATTEMPTS) {
    lost = 0;
    say(list.dataset.some);
    return;
  }
  timer = setTimeout(listen, 1000 * 2 ** lost * (0.5 + Math.random() / 2));
  lost += 1;
}

/* Returns the address of the list's events after the last received event. If no event has arrived yet, these
   are the events since the server read the page. */
function address() {
  const url = new URL(list.dataset.live, location.href);
  const variables = JSON.parse(url.searchParams.get("variables"));
  if (cursor) variables.after = cursor;
  url.searchParams.set("variables", JSON.stringify(variables));
  return url;
}

function take(event) {
  /* Without Redis, a server does not know the event cursors of other servers. For an unknown cursor, it sends
     RELOAD. If the page received the list only seconds ago, the list is recent enough, so the page ignores this
     event. */
  const unknown = !cursor && event.kind === "RELOAD" && Date.now() - shown < 10_000;
  cursor = event.cursor;
  if (unknown) return;
  if (event.kind === "CHANGED") reply(event.commentEdge.node);
  if (event.kind === "ADDED") fresh.set(event.commentEdge.node.id, event.commentEdge.node.commentId);
  if (event.kind === "DELETED") fresh.delete(event.deletedId);
  if (event.kind === "RELOAD") say(list.dataset.some);
  else announce();
}

/* Shows the number of new comments that the list does not show yet. The visitor's own new comment is already
   in the list, so it does not count. */
export function announce() {
  const unseen = [...fresh.values()].filter((one) => !article(one)).length;
  say(unseen ? counted(JSON.parse(list.dataset.many), unseen) : "");
}

function article(commentId) {
  return [...document.querySelectorAll("article.comment")].find((one) => one.dataset.comment === commentId);
}

/* Shows a comment's new or changed reply, or removes a deleted reply. Does nothing if the page does not show
   the comment. */
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

/* Returns a date in the page's language and in the server's format. */
function day(instant) {
  const { lang } = document.documentElement;
  const locale = `${lang === "en" ? "en-001" : lang}-u-nu-latn-ca-gregory`;
  return new Date(instant).toLocaleDateString(locale, { dateStyle: "long", timeZone: "UTC" });
}

/* Returns a text such as "3 new comments". `forms` has a text for each plural category of the page's
   language. */
export function counted(forms, count, others) {
  const { lang } = document.documentElement;
  const form = forms[new Intl.PluralRules(lang).select(count)] ?? forms.other;
  return filled(form, { count, ...others });
}

/* Returns a text with numbers in place of its placeholders, such as %(count)s. */
export function filled(text, values) {
  return text.replace(/%\((\w+)\)s/g, (_, name) => number(values[name]));
}

/* Returns a number in the page's language. Like the server, it uses the digits 0 to 9 in all languages. */
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
