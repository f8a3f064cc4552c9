import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import relay from "vite-plugin-relay";

export default defineConfig({
  plugins: [relay, react()],
  server: { host: "127.0.0.1", port: 5171, strictPort: true },
});
