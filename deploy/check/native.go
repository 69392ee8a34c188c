package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	scalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	podsecurity "k8s.io/pod-security-admission/api"
	standards "k8s.io/pod-security-admission/policy"

	// The kinds the decoder knows, with their defaults.
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
)

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
