import { Component, type ReactNode } from "react";

/** Return the message of an exception. The API's own messages are sentences. */
export function sentence(error: unknown): string {
  if (error instanceof TypeError) return "The server does not answer. Is `make run` running?";
  return error instanceof Error ? error.message : String(error);
}

/** Shows the result of `render` for an error in place of the part that failed. */
export class ErrorBoundary extends Component<
  { render: (sentence: string) => ReactNode; children: ReactNode },
  { error: unknown }
> {
  override state = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    return error === null ? this.props.children : this.props.render(sentence(error));
  }
}
