// Writes the SDKs that `pulumi package add` would write, with the engine's own generators: main SCHEMA FOLDER.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func write(folder string, files map[string][]byte) {
	for name, text := range files {
		target := filepath.Join(folder, name)
		must(os.MkdirAll(filepath.Dir(target), 0o755))
		must(os.WriteFile(target, text, 0o644))
	}
}

func main() {
	raw, err := os.ReadFile(os.Args[1])
	must(err)
	var spec schema.PackageSpec
	must(json.Unmarshal(raw, &spec))
	languages := map[string]schema.Language{"nodejs": nodejs.Importer, "go": gogen.Importer}
	pkg, err := schema.ImportSpec(spec, languages, schema.NewNullLoader(), schema.ValidationOptions{})
	must(err)
	// As `package add` does: cmd/pulumi/packages/packages.go, BindSpec.
	pkg.SupportPack = true
	typescript, err := nodejs.GeneratePackage("pulumi", pkg, nil, nil, true, nil)
	must(err)
	write(filepath.Join(os.Args[2], "nodejs"), typescript)
	golang, err := gogen.GeneratePackage("pulumi", pkg, nil)
	must(err)
	write(filepath.Join(os.Args[2], "go"), golang)
}
