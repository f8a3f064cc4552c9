import { Component, type ReactNode } from "react";

/** Return a sentence for whatever was thrown; the API's own messages are sentences already. */
export function sentence(error: unknown): string {
  if (error instanceof TypeError) return "The server does not answer. Is `make run` running?";
  return error instanceof Error ? error.message : String(error);
}

/** Shows what `render` makes of an error in place of a page that could not be read. */
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
