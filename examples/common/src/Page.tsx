import type { ReactNode } from "react";
import { Faults } from "./CommentForm";
import { PRODUCT_ID } from "./session";
import { SignIn } from "./SignIn";

/** The frame of a page: its client, its product, who is signed in, and why there is no more. */
export function Page(props: {
  client: string;
  username: string | null;
  error?: string | undefined;
  children?: ReactNode;
}) {
  return (
    <>
      <header className="top">
        <p className="brand">Marginalia with {props.client}</p>
        <SignIn username={props.username} />
      </header>
      <main>
        <h1>Product {PRODUCT_ID}</h1>
        {props.error && <Faults faults={[{ message: props.error }]} />}
        {props.children}
      </main>
    </>
  );
}

/** How many comments the product has, and their mean rating. */
export function Summary({ total, average }: { total: number; average: number | null | undefined }) {
  if (average == null) return <p className="summary">No comments yet: yours would be the first.</p>;
  return (
    <p className="summary">
      {average.toFixed(1)} of 5 · {total.toLocaleString("en")} comments
    </p>
  );
}
