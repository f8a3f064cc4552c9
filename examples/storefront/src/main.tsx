import "common/style.css";
import { useJwt } from "common";
import { StrictMode, useMemo } from "react";
import { createRoot } from "react-dom/client";
import { RelayEnvironmentProvider } from "react-relay";
import { makeEnvironment } from "./environment";
import { Storefront } from "./Storefront";

function Root() {
  const jwt = useJwt();
  const environment = useMemo(makeEnvironment, [jwt]);
  return (
    <RelayEnvironmentProvider environment={environment}>
      <Storefront key={jwt} />
    </RelayEnvironmentProvider>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
