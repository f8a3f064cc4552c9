/* Says what to start if the API does not answer. The pages start in any case, with a button "Try again". */
const api = process.env.VITE_API ?? "http://127.0.0.1:8000/graphql";
try {
  await fetch(api, { method: "HEAD" });
} catch {
  console.log(`No API answers at ${api}: run \`make run\` in another terminal.`);
}
