import type { ReactNode } from "react";
import { API, PRODUCT_ID, type Viewer } from "./session";
import { SignIn } from "./SignIn";

/** The shop's details of a product. A picture's URL may be a path on the API's server. */
type Product = { title?: string | null; pictureUrl?: string | null };

/** The frame of a page: the GraphQL client's name, the product, and the signed-in user. */
export function Page(props: {
  client: string;
  viewer: Viewer | null;
  product?: Product | null | undefined;
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
        {props.children}
      </main>
    </>
  );
}

/** The number of the product's comments, and their mean rating. */
export function Summary({ total, average }: { total: number; average: number | null | undefined }) {
  if (average == null) return <p className="summary">No comments yet: yours would be the first.</p>;
  return (
    <p className="summary">
      {average.toFixed(1)} of 5 · {total.toLocaleString("en")} comments
    </p>
  );
}
