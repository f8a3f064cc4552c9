import "common/style.css";
import { useJwt } from "common";
import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { App } from "./App";
import { makeClient } from "./client";

function Root() {
  const jwt = useJwt();
  const [round, setRound] = useState(0); // each round has a new client, with an empty cache
  const client = useMemo(makeClient, [jwt, round]);
  return (
    <Provider value={client}>
      <App key={`${jwt} ${round}`} onReload={() => setRound(round + 1)} />
    </Provider>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
