import { useState } from "react";

export type Draft = {
  rating: number;
  language: string;
  title: string;
  text: string;
  idempotencyKey: string;
};

/** An error of the form or of one of its fields, in the shape of the API's userErrors. */
export type Fault = { field?: readonly string[] | null; message: string };

/**
 * A form for a comment. `onSend` resolves to the errors of the comment.
 *
 * The form keeps the text until the server has stored the comment.
 */
export function CommentForm({ onSend }: { onSend: (draft: Draft) => Promise<readonly Fault[]> }) {
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [sending, setSending] = useState(false);
  // An unchanged draft keeps its idempotency key. So if only the response was lost, sending the
  // draft again adds no second comment.
  const [idempotencyKey, setKey] = useState(() => crypto.randomUUID());

  async function send(form: HTMLFormElement) {
    const data = new FormData(form);
    const text = (name: string) => String(data.get(name)).trim();
    setSending(true);
    const found = await onSend({
      rating: Number(data.get("rating")),
      language: text("language"),
      title: text("title"),
      text: text("text"),
      idempotencyKey,
    });
    setSending(false);
    setFaults(found);
    if (found.length > 0) return;
    form.reset();
    setKey(crypto.randomUUID());
  }

  return (
    <details className="write">
      <summary>Write a comment</summary>
      <form
        onChange={() => setKey(crypto.randomUUID())}
        onSubmit={(event) => {
          event.preventDefault();
          void send(event.currentTarget);
        }}
      >
        <label>
          Rating
          <select name="rating" defaultValue="5">
            {[5, 4, 3, 2, 1].map((rating) => (
              <option key={rating} value={rating}>
                {"★".repeat(rating)}
              </option>
            ))}
          </select>
        </label>
        <label>
          Language
          <input name="language" defaultValue="en" />
        </label>
        <label className="wide">
          Title
          <input name="title" />
        </label>
        <label className="wide">
          Text
          <textarea name="text" rows={3} />
        </label>
        <Faults faults={faults} />
        <button disabled={sending}>Send</button>
      </form>
    </details>
  );
}

/** The messages of errors. */
export function Faults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return (
    <ul className="faults" role="alert">
      {faults.map((fault) => (
        <li key={fault.message}>{fault.message}</li>
      ))}
    </ul>
  );
}
