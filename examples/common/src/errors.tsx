import { Component, type ReactNode } from "react";

/** Return a message for an exception. `fetch` throws a TypeError if the server does not answer. */
export function sentence(error: unknown): string {
  if (error instanceof TypeError) return "The server does not answer. Is `make run` running?";
  return error instanceof Error ? error.message : String(error);
}

/** Shows its children. If one of them throws an error, shows `render(message)` instead. */
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
