package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	// The kinds the decoder knows, with their defaults.
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	scalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	podsecurity "k8s.io/pod-security-admission/api"
	standards "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// manifests checks each object of some files by itself, and then whether they fit together.
func manifests(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("manifests", flag.ContinueOnError)
	var places repeated
	flags.Var(&places, "crds", "`directory` with definitions of custom resources; may be given again")
	keda := flags.String("keda", "", "`directory` with the source of KEDA's scalers, to hold triggers to")
	insecure := flags.Bool("insecure", false, "let servers start that ask nobody who they are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	customs, err := readCustoms(places)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range flags.Args() {
		docs, err := readDocuments(name)
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			problems = append(problems, fmt.Errorf("%s: no objects", name))
		}
		var objects []runtime.Object
		for _, doc := range docs {
			obj, kind, err := admit(doc, customs)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %s: %w", name, kind, err))
				continue
			}
			if _, err := fmt.Fprintf(out, "%s: %s ok\n", name, kind); err != nil {
				return err
			}
			objects = append(objects, obj)
		}
		for _, err := range append(fit(objects, *insecure), scaled(objects, *keda)...) {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// repeated is a flag that may be given several times.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, ",") }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// readDocuments splits a file, or stdin for "-", into its YAML documents; empty ones are left out.
func readDocuments(name string) ([][]byte, error) {
	file, err := os.ReadFile(name)
	if name == "-" {
		file, err = io.ReadAll(os.Stdin)
	}
	if err != nil {
		return nil, err
	}
	var docs [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var content map[string]any
		if err := yaml.Unmarshal(doc, &content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(content) > 0 {
			docs = append(docs, doc)
		}
	}
}

// admit does with a document what the API server does with a new object.
func admit(doc []byte, customs customs) (obj runtime.Object, kind string, err error) {
	var head struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return nil, "?", err
	}
	kind = head.Kind + " " + head.Name
	gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	if !legacyscheme.Scheme.Recognizes(gvk) {
		obj, err := customs.admit(gvk, doc)
		return obj, kind, err
	}
	versioned, internal, err := decodeNative(doc)
	if err != nil {
		return nil, kind, err
	}
	invalid, err := validate(internal)
	if err != nil {
		return nil, kind, err
	}
	for _, w := range workloads([]runtime.Object{versioned}) {
		err = restricted(&w.template.ObjectMeta, &w.template.Spec)
	}
	return versioned, kind, errors.Join(invalid.ToAggregate(), err)
}

// decodeNative reads an object of Kubernetes' own kinds as the API server does
// when asked to be strict: an unknown or repeated field is an error.
func decodeNative(doc []byte) (versioned, internal runtime.Object, err error) {
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	versioned, _, err = codecs.UniversalDeserializer().Decode(doc, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	internal, _, err = codecs.UniversalDecoder(
		apps.SchemeGroupVersion, autoscaling.SchemeGroupVersion, batch.SchemeGroupVersion, core.SchemeGroupVersion,
		networking.SchemeGroupVersion, policy.SchemeGroupVersion,
	).Decode(doc, nil, nil)
	return versioned, internal, err
}

// validate runs the API server's own validation of a new object.
func validate(obj runtime.Object) (field.ErrorList, error) {
	// The API server sets the namespace of a request before it validates.
	if meta, ok := obj.(metav1.Object); ok && meta.GetNamespace() == "" {
		meta.SetNamespace(metav1.NamespaceDefault)
	}
	switch o := obj.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, pod.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil)), nil
	case *batch.Job:
		// The API server draws the selector and sets the labels that it looks for.
		o.UID = "0"
		marked := map[string]string{batch.ControllerUidLabel: "0", batch.JobNameLabel: o.Name, batch.LegacyControllerUidLabel: "0", batch.LegacyJobNameLabel: o.Name}
		o.Spec.Template.Labels = labels.Merge(o.Spec.Template.Labels, marked)
		o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batch.ControllerUidLabel: "0"}}
		return batchvalidation.ValidateJobCreate(o, batchvalidation.JobValidationOptions{RequirePrefixedLabels: true, PodValidationOptions: pod.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil)}), nil
	case *core.Service:
		// The API server picks the families and the policy from the cluster's networks.
		o.Spec.IPFamilies = []core.IPFamily{core.IPv4Protocol}
		single := core.IPFamilyPolicySingleStack
		o.Spec.IPFamilyPolicy = &single
		return corevalidation.ValidateServiceCreate(o), nil
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(o), nil
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o), nil
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(o, corevalidation.ValidationOptionsForPersistentVolumeClaim(o, nil)), nil
	case *core.Namespace:
		o.Namespace = ""
		return corevalidation.ValidateNamespace(o), nil
	case *autoscaling.HorizontalPodAutoscaler:
		return scalingvalidation.ValidateHorizontalPodAutoscaler(o, scalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{}), nil
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{}), nil
	case *networking.NetworkPolicy:
		return networkvalidation.ValidateNetworkPolicy(o, networkvalidation.NetworkPolicyValidationOptions{}), nil
	}
	return nil, fmt.Errorf("%T: this program does not know how Kubernetes validates it", obj)
}

// restricted holds a pod to the strictest of the Pod Security Standards.
func restricted(meta *metav1.ObjectMeta, spec *corev1.PodSpec) error {
	latest := podsecurity.LatestVersion()
	evaluator, err := standards.NewEvaluator(standards.DefaultChecks(), &latest)
	if err != nil {
		return err
	}
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: latest}
	result := standards.AggregateCheckResults(evaluator.EvaluatePod(level, meta, spec))
	if !result.Allowed {
		return fmt.Errorf("not allowed by the restricted pod security standard: %s", result.ForbiddenDetail())
	}
	return nil
}

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
