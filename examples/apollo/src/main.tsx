import "common/style.css";
import { ApolloProvider } from "@apollo/client/react";
import { useJwt } from "common";
import { StrictMode, useMemo } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { makeClient } from "./client";

function Root() {
  const jwt = useJwt();
  const client = useMemo(makeClient, [jwt]);
  return (
    <ApolloProvider client={client}>
      <App key={jwt} />
    </ApolloProvider>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
