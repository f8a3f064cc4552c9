import "common/style.css";
import { ErrorBoundary, Page, useJwt } from "common";
import { StrictMode, Suspense, useMemo } from "react";
import { createRoot } from "react-dom/client";
import { RelayEnvironmentProvider } from "react-relay";
import { makeEnvironment } from "./environment";
import { Storefront } from "./Storefront";

function Root() {
  const jwt = useJwt();
  const environment = useMemo(makeEnvironment, [jwt]);
  return (
    <RelayEnvironmentProvider environment={environment}>
      <ErrorBoundary
        key={jwt}
        render={(error) => <Page client="Relay" viewer={null} error={error} />}
      >
        <Suspense fallback={<main>Loading …</main>}>
          <Storefront />
        </Suspense>
      </ErrorBoundary>
    </RelayEnvironmentProvider>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
