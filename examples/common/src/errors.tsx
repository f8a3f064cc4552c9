import { API } from "./session";

/** Return a message for an exception. `fetch` throws a TypeError if the server does not answer. */
export function sentence(error: unknown): string {
  if (error instanceof TypeError) return `No server answers at ${API}: start it with \`make run\`.`;
  const message = error instanceof Error ? error.message : String(error);
  return message || "The server's answer is an error without a message.";
}

/** The message of a failed request, and a button that sends the request again. */
export function Failed({ message, onRetry }: { message: string; onRetry: () => void }) {
  return (
    <p className="failed" role="alert">
      {message}
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    </p>
  );
}
