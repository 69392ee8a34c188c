package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fit finds what is right by itself and wrong together: selectors that select nothing, ports nobody listens at, and
// servers that would refuse to start or be cut off while they drain.
func fit(objects []runtime.Object, insecure bool) []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	deployments := of[*appsv1.Deployment](objects)
	selected := func(what string, selector labels.Selector) *appsv1.Deployment {
		for _, d := range deployments {
			if selector.Matches(labels.Set(d.Spec.Template.Labels)) {
				return d
			}
		}
		bad("%s selects no pod", what)
		return nil
	}
	selectedBy := func(what string, selector *metav1.LabelSelector) *appsv1.Deployment {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			bad("%s: %w", what, err)
			return nil
		}
		return selected(what, s)
	}
	for _, s := range of[*corev1.Service](objects) {
		what := "Service " + s.Name
		d := selected(what, labels.SelectorFromSet(s.Spec.Selector))
		for _, port := range s.Spec.Ports {
			if d != nil && !listens(d, &port.TargetPort) {
				bad("%s: no container listens at %s", what, port.TargetPort.String())
			}
		}
	}
	for _, p := range of[*policyv1.PodDisruptionBudget](objects) {
		selectedBy("PodDisruptionBudget "+p.Name, p.Spec.Selector)
	}
	for _, p := range of[*networkingv1.NetworkPolicy](objects) {
		what := "NetworkPolicy " + p.Name
		d := selectedBy(what, &p.Spec.PodSelector)
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				if d != nil && !listens(d, port.Port) {
					bad("%s: no container listens at %s", what, port.Port.String())
				}
			}
		}
	}
	for _, h := range of[*autoscalingv2.HorizontalPodAutoscaler](objects) {
		i := slices.IndexFunc(deployments, func(d *appsv1.Deployment) bool { return d.Name == h.Spec.ScaleTargetRef.Name })
		switch {
		case i < 0:
			bad("HorizontalPodAutoscaler %s scales %s, which is not there", h.Name, h.Spec.ScaleTargetRef.Name)
		case deployments[i].Spec.Replicas != nil:
			bad("Deployment %s fixes its replicas, and an autoscaler changes them", deployments[i].Name)
		}
	}
	for _, d := range deployments {
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.ConfigMap != nil && !slices.ContainsFunc(of[*corev1.ConfigMap](objects), func(c *corev1.ConfigMap) bool { return c.Name == v.ConfigMap.Name }) {
				bad("Deployment %s mounts ConfigMap %s, which is not there", d.Name, v.ConfigMap.Name)
			}
			if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode&0o037 != 0) {
				bad("Deployment %s: Secret %s is open to others, and the server refuses such files: set defaultMode to 0440", d.Name, v.Secret.SecretName)
			}
		}
		for _, err := range serves(&d.Spec.Template.Spec, insecure) {
			bad("Deployment %s: %w", d.Name, err)
		}
	}
	return problems
}

// of are the objects of one kind.
func of[T runtime.Object](objects []runtime.Object) []T {
	var some []T
	for _, o := range objects {
		if t, ok := o.(T); ok {
			some = append(some, t)
		}
	}
	return some
}

// listens tells whether a container declares a port.
func listens(d *appsv1.Deployment, port *intstr.IntOrString) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.StrVal && port.Type == intstr.String || p.ContainerPort == port.IntVal && port.Type == intstr.Int {
				return true
			}
		}
	}
	return false
}

// serves checks containers that run psi serve.
func serves(spec *corev1.PodSpec, insecure bool) []error {
	var problems []error
	for _, c := range spec.Containers {
		if len(c.Args) == 0 || c.Args[0] != "serve" {
			continue
		}
		asks := hasFlag(c.Args, "token-file") || hasFlag(c.Args, "client-ca") || hasFlag(c.Args, "oidc-issuer")
		if !asks && !insecure {
			problems = append(problems, fmt.Errorf("container %s asks nobody who they are", c.Name))
		}
		if hasFlag(c.Args, "insecure") != insecure {
			problems = append(problems, fmt.Errorf("container %s: --insecure is %v, want %v", c.Name, !insecure, insecure))
		}
		drain, err := time.ParseDuration(flagValue(c.Args, "drain"))
		if err != nil {
			problems = append(problems, fmt.Errorf("container %s: --drain: %w", c.Name, err))
			continue
		}
		pause := time.Duration(0)
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
			pause = time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
		}
		grace := 30 * time.Second // Kubernetes' own
		if spec.TerminationGracePeriodSeconds != nil {
			grace = time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
		}
		if grace <= pause+drain {
			problems = append(problems, fmt.Errorf("container %s is killed after %v, before its pause of %v and drain of %v end", c.Name, grace, pause, drain))
		}
	}
	return problems
}

func hasFlag(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "--"+name || strings.HasPrefix(a, "--"+name+"=") })
}

// flagValue is that of --name=value, or "".
func flagValue(args []string, name string) string {
	for _, a := range args {
		if value, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}
