import type { ReactNode } from "react";
import { Faults } from "./CommentForm";
import { API, PRODUCT_ID, type Viewer } from "./session";
import { SignIn } from "./SignIn";

/** What the shop has stored of a product. A picture's URL may be a path on the API's server. */
type Product = { title?: string | null; pictureUrl?: string | null };

/** The frame of a page: its client, its product, who is signed in, and why there is no more. */
export function Page(props: {
  client: string;
  viewer: Viewer | null;
  product?: Product | null | undefined;
  error?: string | undefined;
  children?: ReactNode;
}) {
  const picture = props.product?.pictureUrl;
  return (
    <>
      <header className="top">
        <p className="brand">Marginalia with {props.client}</p>
        <SignIn viewer={props.viewer} />
      </header>
      <main>
        {picture && <img className="picture" src={new URL(picture, API).href} alt="" />}
        <h1>{props.product?.title ?? `Product ${PRODUCT_ID}`}</h1>
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
