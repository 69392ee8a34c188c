package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// customs are the schemas of custom resources, as their projects ship them for clusters.
type customs map[schema.GroupVersionKind]*apiextensions.JSONSchemaProps

// readCustoms reads all definitions in some directories.
func readCustoms(places []string) (customs, error) {
	found := customs{}
	for _, place := range places {
		names, err := filepath.Glob(filepath.Join(place, "*.yaml"))
		if err != nil {
			return nil, err
		}
		before := len(found)
		for _, name := range names {
			if err := found.read(name); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("%s: no definition of a custom resource", place)
		}
	}
	return found, nil
}

func (c customs) read(name string) error {
	content, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(content, []byte("kind: CustomResourceDefinition")) {
		return err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &definition); err != nil {
		return err
	}
	for _, version := range definition.Spec.Versions {
		if version.Schema == nil {
			continue
		}
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return err
		}
		c[schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}] = &props
	}
	return nil
}

// admit validates a custom resource by its schema: types, enumerations, rules; and no field that the schema lacks.
func (c customs) admit(gvk schema.GroupVersionKind, doc []byte) (*unstructured.Unstructured, error) {
	props, known := c[gvk]
	if !known {
		return nil, fmt.Errorf("kind %s is unknown: give the directory of its definition with -crds", gvk)
	}
	text, err := yaml.YAMLToJSONStrict(doc) // a field twice
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil { // whole numbers stay whole, as the rules expect
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	invalid := validation.ValidateCustomResource(nil, object, validator)
	s, err := structural.NewStructural(props)
	if err != nil {
		return nil, err
	}
	if rules := cel.NewValidator(s, true, celconfig.PerCallLimit); rules != nil {
		violated, _ := rules.Validate(context.Background(), nil, s, object, nil, celconfig.RuntimeCELCostBudget)
		invalid = append(invalid, violated...)
	}
	unknown := pruning.PruneWithOptions(object, s, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	slices.Sort(unknown)
	var problems []error
	for _, path := range unknown {
		problems = append(problems, fmt.Errorf("unknown field %s", path))
	}
	return &unstructured.Unstructured{Object: object}, errors.Join(append(problems, invalid.ToAggregate())...)
}
