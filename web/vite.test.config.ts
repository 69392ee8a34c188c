import { defineConfig } from "vite";

// The tests as scripts that node runs; what they need of node_modules stays there.
export default defineConfig({
  build: {
    outDir: "build",
    target: "node20",
    ssr: true,
    rollupOptions: { input: { maths: "test/maths.test.ts", live: "test/live.test.ts", browser: "test/browser.ts", page: "test/page.ts" }, output: { entryFileNames: "[name].mjs" } },
  },
});
