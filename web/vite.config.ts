import { defineConfig } from "vite";

// The viewer as one script and one stylesheet, where package report embeds them.
export default defineConfig({
  build: {
    outDir: "../report/viewer",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    // The licences of the packages inside the script, for the notices of what contains it.
    license: { fileName: "licences.json" },
    lib: { entry: "src/main.ts", formats: ["iife"], name: "psi", fileName: () => "viewer.js", cssFileName: "viewer" },
  },
});
